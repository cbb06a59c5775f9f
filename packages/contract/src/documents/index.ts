export { buildAsyncApi, type AsyncApiDocument } from './asyncapi.js';
export { EXAMPLE } from './example-objects.js';
export { buildOpenApi, type OpenApiDocument } from './openapi.js';
