import type { DocumentOptions } from '@uswarm/contract/documents';
import { DocumentAnswer } from '../http/document-answer.js';

export type DocumentSource = () => Promise<DocumentAnswer>;

/**
 * Its server is the public URL or, without one, the request's URL. Most processes never serve the document, so it is
 * generated on first use.
 */
export const openApiSource = (options: DocumentOptions): DocumentSource =>
  once(async () => {
    const { buildOpenApi } = await import('@uswarm/contract/documents');
    const document = buildOpenApi(options);
    return options.publicUrl === undefined ? { ...document, servers: [{ url: '/' }] } : document;
  });

/** Its server is at the public URL; without one, at local mode's URL. */
export const asyncApiSource = (options: DocumentOptions): DocumentSource =>
  once(async () => (await import('@uswarm/contract/documents')).buildAsyncApi(options));

function once(make: () => Promise<object>): DocumentSource {
  let answer: Promise<DocumentAnswer> | undefined;
  return () => (answer ??= make().then((document) => new DocumentAnswer(document)));
}
