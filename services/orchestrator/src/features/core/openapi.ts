import type { AsyncApiDocument, DocumentOptions } from '@uswarm/contract/documents';
import { DocumentAnswer } from '../../http/document-answer.js';

/**
 * The OpenAPI document. Its server is the public URL or, without one, the URL of the request. It is generated on first
 * use, because most processes never serve it.
 */
export function openApiSource(publicUrl: string | undefined, options: DocumentOptions): () => Promise<DocumentAnswer> {
  let document: Promise<DocumentAnswer> | undefined;
  const make = async (): Promise<DocumentAnswer> => {
    const { buildOpenApi } = await import('@uswarm/contract/documents');
    return new DocumentAnswer({ ...buildOpenApi(options), servers: [{ url: publicUrl ?? '/' }] });
  };
  return () => (document ??= make());
}

/**
 * The AsyncAPI document of the realtime API. Its server is at the public URL; without one, it is that of local mode.
 */
export function asyncApiSource(publicUrl: string | undefined, options: DocumentOptions): () => Promise<DocumentAnswer> {
  let document: Promise<DocumentAnswer> | undefined;
  const make = async (): Promise<DocumentAnswer> => {
    const { buildAsyncApi } = await import('@uswarm/contract/documents');
    const { servers, ...rest } = buildAsyncApi(options);
    return new DocumentAnswer({
      ...rest,
      servers: publicUrl === undefined ? servers : publicServers(servers, publicUrl),
    });
  };
  return () => (document ??= make());
}

function publicServers({ local }: AsyncApiDocument['servers'], publicUrl: string): AsyncApiDocument['servers'] {
  const { host, protocol } = new URL(publicUrl);
  const { description: _, ...server } = local ?? {};
  return { public: { ...server, host, protocol: protocol === 'https:' ? 'wss' : 'ws' } };
}
