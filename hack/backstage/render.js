// Writes what Backstage's scaffolder would make of a template with the defaults of its form, and checks the template and the entities among
// the files by Backstage's own rules. Prints the files as JSON, by their names.
//
// usage: node - FOLDER_OF_PACKAGES TEMPLATE <render.js
'use strict';

const fs = require('fs');
const path = require('path');
const from = require('module').createRequire(path.resolve(process.argv[2], 'package.json'));

const catalog = from('@backstage/catalog-model');
const { templateEntityV1beta3Validator } = from('@backstage/plugin-scaffolder-common');
const Ajv = from('ajv');
const nunjucks = from('nunjucks');
const yaml = from('yaml');

// The scaffolder's delimiters, beside which {{ }} is plain text.
const engine = new nunjucks.Environment(null, {
  autoescape: false,
  throwOnUndefined: true,
  tags: { variableStart: '${{', variableEnd: '}}' },
});

// fill renders all texts of a value. One that is a single expression keeps the type of its value.
function fill(value, context) {
  if (Array.isArray(value)) {
    return value.map(each => fill(each, context));
  }
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each, context)]));
  }
  if (typeof value !== 'string') {
    return value;
  }
  const single = /^\$\{\{((?:(?!\}\}).)*)\}\}$/.exec(value.trim());
  return single ? JSON.parse(engine.renderString('${{ (' + single[1] + ') | dump }}', context)) : engine.renderString(value, context);
}

// defaults of the form, which has to take them.
function defaults(forms) {
  const values = {};
  for (const form of forms) {
    for (const [name, property] of Object.entries(form.properties)) {
      values[name] = property.default;
    }
    const ajv = new Ajv({ strict: false });
    if (!ajv.validate(form, values)) {
      throw new Error(`the form ${form.title} refuses its defaults: ${ajv.errorsText()}`);
    }
  }
  return values;
}

const policies = catalog.EntityPolicies.allOf([
  new catalog.SchemaValidEntityPolicy(),
  new catalog.DefaultNamespaceEntityPolicy(),
  new catalog.NoForeignRootFieldsEntityPolicy(),
  new catalog.FieldFormatEntityPolicy(),
]);

// check has the catalog's rules and a kind's judge an entity.
async function check(entity, kind) {
  if (!(await kind.check(await policies.enforce(entity)))) {
    throw new Error(`${entity.kind} ${entity.metadata.name} is not of the version and kind that Backstage knows`);
  }
}

async function main(file) {
  const template = yaml.parse(fs.readFileSync(file, 'utf8'));
  await check(template, templateEntityV1beta3Validator);
  const parameters = defaults(template.spec.parameters);
  const { input } = template.spec.steps.find(step => step.action === 'fetch:template');
  const values = fill(input.values, { parameters });
  const skeleton = path.join(path.dirname(file), input.url);
  const files = {};
  for (const name of fs.readdirSync(skeleton)) {
    files[name] = engine.renderString(fs.readFileSync(path.join(skeleton, name), 'utf8'), { values });
  }
  await check(yaml.parse(files['catalog-info.yaml']), catalog.resourceEntityV1alpha1Validator);
  process.stdout.write(JSON.stringify(files));
}

main(process.argv[3]).catch(err => {
  process.stderr.write(`${err.message}\n`);
  process.exit(1);
});
