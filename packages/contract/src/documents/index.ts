export { buildAsyncApi, type AsyncApiDocument } from './asyncapi.js';
export { buildOpenApi, type OpenApiDocument } from './openapi.js';
