import type { OpenApiBody } from '@uswarm/contract';

/**
 * The description of the interface as this server shows it: reached where clients reach it, or else where they
 * got the document from. It is made when somebody first asks, since most processes are never asked.
 */
export function openApiSource(publicUrl: string | undefined): () => Promise<OpenApiBody> {
  let document: Promise<OpenApiBody> | undefined;
  const make = async (): Promise<OpenApiBody> => {
    const { buildOpenApi } = await import('@uswarm/contract/documents');
    return { ...buildOpenApi(), servers: [{ url: publicUrl ?? '/' }] };
  };
  return () => (document ??= make());
}
