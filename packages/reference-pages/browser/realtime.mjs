import { AsyncAPIDocumentV3 } from '@asyncapi/parser';
import AsyncApi from '@asyncapi/react-component/lib/esm/containers/AsyncApi/Standalone.js';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { withoutReferences } from './references.mjs';

const response = await fetch(new URL('../v1/asyncapi.json', import.meta.url));
const source = await response.json();
const json = withoutReferences(source);
// The parser of the renderer, which compiles code at run time, would add these names. The service has validated the document.
for (const [id, schema] of Object.entries(json.components.schemas)) schema['x-parser-schema-id'] = id;
for (const [id, channel] of Object.entries(json.channels)) {
  channel['x-parser-unique-object-id'] = id;
  for (const [name, message] of Object.entries(channel.messages)) message['x-parser-unique-object-id'] = name;
}
for (const [id, operation] of Object.entries(json.operations)) operation['x-parser-unique-object-id'] = id;

const schema = new AsyncAPIDocumentV3(json, {
  asyncapi: { input: source, parsed: json, semver: { version: json.asyncapi, major: 3, minor: 0, patch: 0 } },
  pointer: '/',
});
const config = { show: { errors: false }, expand: { messageExamples: true } };
createRoot(document.querySelector('#reference')).render(createElement(AsyncApi, { schema, config }));
