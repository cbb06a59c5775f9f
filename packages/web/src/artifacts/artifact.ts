import type { Client, components } from '@uswarm/client';
import type { MenuEntry } from '../ui/menu-entry.js';
import { notifyError } from '../ui/notify.js';
import { fileOf } from './file.js';

export type Artifact = components['schemas']['Artifact'];
export const ROUTE = '/v1/workspaces/{workspaceId}/artifacts/{id}';

/** Loads a document version, by default the newest, and the text of the version before it. */
export async function loadArtifact(
  { api }: Client,
  { version, ...path }: { workspaceId: string; id: string; version: number | undefined },
  signal: AbortSignal,
) {
  const shown = (await api.get(ROUTE, { path, query: version ? { version } : {}, signal })).data;
  const before = shown.version - 1;
  const hasBefore = shown.versions.some((one) => one.version === before);
  const previous = hasBefore ? (await api.get(ROUTE, { path, query: { version: before }, signal })).data : undefined;
  return { shown, previous: previous?.content ?? '' };
}

/** Menu entries for documents that the service writes. */
export const downloadsOf = ({ api }: Client, workspaceId: string, { id, title, version }: Artifact) =>
  (['docx', 'pdf'] as const).map((format, index): MenuEntry => ({
    label: format === 'docx' ? 'Download as Word' : 'Download as PDF',
    separated: index === 0,
    onSelect: () =>
      void api
        .get(`${ROUTE}/file`, { path: { workspaceId, id }, query: { format, version } })
        .then((file) => download(fileOf(title, '').name.replace(/md$/, format), file.type, file))
        .catch(notifyError('The document could not be downloaded')),
  }));

export function download(name: string, type: string, content: string | Blob): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

export type View = 'read' | 'source' | 'changes';
export const viewsOf = (version: number, isSource: boolean): { value: View; label: string }[] => [
  { value: 'read', label: isSource ? 'Source' : 'Read' },
  ...(isSource ? [] : [{ value: 'source', label: 'Source' } as const]),
  ...(version > 1 ? [{ value: 'changes', label: 'Changes' } as const] : []),
];

/** Menu entries. @param choose without a version, the panel shows the newest one, also after a newer one arrives */
export const versionsOf = (
  { version, versions, latest_version: latest }: Artifact,
  choose: (version: number | undefined) => void,
) =>
  versions.map((one): MenuEntry => ({
    label: `Version ${one.version}${one.version === latest ? ', newest' : ''} · ${one.status}`,
    current: one.version === version,
    onSelect: () => choose(one.version === latest ? undefined : one.version),
  }));
