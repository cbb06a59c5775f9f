import { buildAsyncApi } from './asyncapi.js';
import { buildOpenApi } from './openapi.js';
import { documentText } from './stable.js';

/** This package's generated files: name → text. */
export function generatedFiles(): Record<string, string> {
  return {
    'openapi.json': documentText(buildOpenApi()),
    'asyncapi.json': documentText(buildAsyncApi()),
  };
}
