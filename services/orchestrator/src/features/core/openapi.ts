import { DocumentAnswer } from '../../http/document-answer.js';

/**
 * The description of the interface as this server shows it: reached where clients reach it, or else where they
 * got the document from. It is made when somebody first asks, since most processes are never asked.
 */
export function openApiSource(publicUrl: string | undefined): () => Promise<DocumentAnswer> {
  let document: Promise<DocumentAnswer> | undefined;
  const make = async (): Promise<DocumentAnswer> => {
    const { buildOpenApi } = await import('@uswarm/contract/documents');
    return new DocumentAnswer({ ...buildOpenApi(), servers: [{ url: publicUrl ?? '/' }] });
  };
  return () => (document ??= make());
}
