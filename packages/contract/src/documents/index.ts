export { buildAsyncApi, type AsyncApiDocument } from './asyncapi.js';
export { EXAMPLE } from '../routes/examples.js';
export { buildOpenApi, type OpenApiDocument } from './openapi.js';
export type { DocumentOptions } from './security.js';
