import type { DocumentOptions } from '@uswarm/contract/documents';
import { DocumentAnswer } from '../http/document-answer.js';

export type DocumentSource = () => Promise<DocumentAnswer>;

/**
 * The OpenAPI document. Its server is the public URL or, without one, the URL of the request. It is generated on first
 * use, because most processes never serve it.
 */
export const openApiSource = (options: DocumentOptions): DocumentSource =>
  once(async () => {
    const { buildOpenApi } = await import('@uswarm/contract/documents');
    const document = buildOpenApi(options);
    return options.publicUrl === undefined ? { ...document, servers: [{ url: '/' }] } : document;
  });

/** The AsyncAPI document of the realtime API. Its server is at the public URL; without one, it is that of local mode. */
export const asyncApiSource = (options: DocumentOptions): DocumentSource =>
  once(async () => (await import('@uswarm/contract/documents')).buildAsyncApi(options));

function once(make: () => Promise<object>): DocumentSource {
  let answer: Promise<DocumentAnswer> | undefined;
  return () => (answer ??= make().then((document) => new DocumentAnswer(document)));
}
