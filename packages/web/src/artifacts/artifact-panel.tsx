import { useState } from 'react';
import { UswarmError } from '@uswarm/client';
import { Text } from '../conversation/text.js';
import { Choice, PanelFrame, Show } from '../screen/screen.js';
import { useAgents, useClient } from '../session/use-client.js';
import { Boundary } from '../ui/boundary.js';
import { Button } from '../ui/button.js';
import { copy } from '../ui/copy.js';
import { Confirm } from '../ui/dialog.js';
import { Icon } from '../ui/icon.js';
import { Facts } from '../ui/item.js';
import { Menu } from '../ui/menu.js';
import { part } from '../ui/part.js';
import { Badge, EmptyState, RelativeTime, Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { type Artifact, download, downloadsOf, ROUTE, versionsOf, type View, viewsOf } from './artifact.js';
import { fileOf } from './file.js';
import { useArtifact } from './use-artifact.js';

const Changes = part(() => import('./changes.js'));

export function ArtifactPanel({ workspaceId, conversationId }: { workspaceId: string; conversationId: string }) {
  const { id, loaded, choose } = useArtifact(workspaceId, conversationId);
  const [view, setView] = useState<View>('read');
  const isGone = loaded.error instanceof UswarmError && loaded.error.code === 'artifact_not_found';
  if (isGone)
    return (
      <PanelFrame title="Document">
        <EmptyState icon="document" title="This document was deleted">
          <p>Messages that mention it stay. Ask an agent to write it again.</p>
        </EmptyState>
      </PanelFrame>
    );
  return (
    <PanelFrame title={loaded.data?.shown.title ?? 'Document'}>
      <Show loaded={loaded} what="document">
        {({ shown, previous }) => (
          <Document
            key={id}
            {...{ workspaceId, shown, previous, view, setView }}
            onChoose={choose}
            onDeleted={loaded.reload}
          />
        )}
      </Show>
    </PanelFrame>
  );
}

interface DocumentProps {
  view: View;
  setView: (view: View) => void;
  workspaceId: string;
  shown: Artifact;
  previous: string;
  onChoose: (version: number | undefined) => void;
  onDeleted: () => void;
}
function Document({ workspaceId, shown, previous, view, setView, onChoose, onDeleted }: DocumentProps) {
  const { title, content, version, latest_version: latest, status } = shown;
  const file = fileOf(title, content);
  const [isDeleting, setDeleting] = useState(false);
  const client = useClient();
  const remove = () => client.api.delete(ROUTE, { path: { workspaceId, id: shown.id } }).then(onDeleted);
  const author = useAgents(workspaceId).find(({ slug }) => slug === shown.agent_slug);
  const isWritten = status === 'draft' && version === latest;
  return (
    <>
      <Facts>
        <Menu
          label={`Version ${version} of ${latest}. Choose another one`}
          className={ui('button small')}
          trigger={
            <>
              Version {version} of {latest} <Icon name="chevron" size={14} />
            </>
          }
          entries={[
            ...versionsOf(shown, onChoose).concat(downloadsOf(client, workspaceId, shown)),
            { label: 'Delete the document…', separated: true, onSelect: () => setDeleting(true) },
          ]}
        />
        <Badge tone={status === 'final' ? 'ok' : 'accent'}>{status === 'final' ? 'Final' : 'Draft'}</Badge>
        <span>{author?.name ?? shown.agent_slug}</span>
        <RelativeTime at={shown.created_at} />
      </Facts>
      {isWritten && author !== undefined && author.live !== 'online' && (
        <p role="status" className={ui('notice')} data-tone="accent">
          {author.name} still works on it. New versions appear here.
        </p>
      )}
      <div className={ui('row')}>
        <Choice label="View" value={view} options={viewsOf(version, file.isSource)} onChange={setView} />
        <Button size="small" onClick={() => void copy(content)}>
          Copy
        </Button>
        <Button size="small" onClick={() => download(file.name, file.type, content)}>
          Download
        </Button>
      </div>
      <Boundary waiting={<Spinner label="Loading the document" />} of={view}>
        <Content
          {...{ content, previous, isSource: file.isSource }}
          view={version === 1 && view === 'changes' ? 'read' : view}
        />
      </Boundary>
      {isDeleting && (
        <Confirm
          title={`Delete “${title}”?`}
          description="All versions are deleted. This cannot be undone."
          keep="Keep it"
          action="Delete"
          onClose={() => setDeleting(false)}
          onConfirm={remove}
        />
      )}
    </>
  );
}

function Content(props: { content: string; previous: string; isSource: boolean; view: View }) {
  const { content, previous, isSource, view } = props;
  if (view === 'changes') return <Changes before={previous} after={content} />;
  return (
    <>
      {isSource && (
        <p role="note" className={ui('notice')}>
          This is code of a page or an image. It is shown as text, and does not run here.
        </p>
      )}
      {view === 'source' || isSource ? (
        <pre tabIndex={0} aria-label="Source">
          {content}
        </pre>
      ) : (
        <Text text={content} />
      )}
    </>
  );
}
