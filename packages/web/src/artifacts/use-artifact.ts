import { useEffect } from 'react';
import { useSearchParams } from 'wouter';
import { useLoaded, useMessages } from '../session/use-client.js';
import { loadArtifact } from './artifact.js';

/** The document and version in the address. */
export function useArtifact(workspaceId: string, conversationId: string) {
  const [query, setQuery] = useSearchParams();
  const id = query.get('artifact') ?? '';
  const version = query.has('version') ? Number(query.get('version')) : undefined;
  // Each version comes with a message about the document, which also shows when it is final.
  const news = useMessages(workspaceId, conversationId).findLast(
    ({ content }) => content.type === 'artifact' && 'artifact_id' in content && content.artifact_id === id,
  )?.content;
  const signal = JSON.stringify(news ?? null);
  const loaded = useLoaded(`artifact ${id} ${version}`, (client, ending) =>
    loadArtifact(client, { workspaceId, id, version }, ending),
  );
  const { reload } = loaded;
  useEffect(reload, [signal, reload]);
  const choose = (chosen: number | undefined): void =>
    setQuery((known) => {
      const next = new URLSearchParams(known);
      if (chosen === undefined) next.delete('version');
      else next.set('version', String(chosen));
      return next;
    });
  return { id, loaded, choose };
}
