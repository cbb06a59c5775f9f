import { useState } from 'react';
import { Link } from 'wouter';
import { Show } from '../screen/screen.js';
import { pages } from '../session/pages.js';
import { useClient, useLoaded } from '../session/use-client.js';
import { ConfirmButton, DialogButton, FormDialog } from '../ui/dialog.js';
import { Field, SearchField, TextField } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { Facts, Item } from '../ui/item.js';
import { Badge, EmptyState, RelativeTime } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import type { AgentProps } from './agent-props.js';
import { LIMIT, loadMemories, matching, type Memory, saveMemory } from './memories.js';

/** Users correct and forget an agent's memories here. */
export function AgentMemories({ workspaceId, agentId, name }: AgentProps) {
  const [words, setWords] = useState('');
  const loaded = useLoaded(`memories ${agentId}`, (client, signal) => loadMemories(client, agentId, signal));
  const own = { workspaceId, agentId, name, onDone: loaded.reload };
  return (
    <Show loaded={loaded} what="memories">
      {(memories) => {
        const found = matching(memories, words);
        const count = memories.filter(({ scope }) => scope === 'agent').length;
        const isFull = count >= LIMIT;
        return (
          <>
            <div className={ui('row')}>
              <SearchField label="Search memories" className={ui('grow')} value={words} onSearch={setWords} />
              <DialogButton
                look="primary"
                disabled={isFull}
                dialog={(close) => <MemoryForm {...own} onClose={close} />}
              >
                <Icon name="plus" /> Add
              </DialogButton>
            </div>
            <p className={ui('lead')}>
              {count} of {LIMIT} own memories{isFull && '. Forget some to make room.'}
            </p>
            {found.length === 0 && (
              <EmptyState icon="search" title={words === '' ? `${name} remembers nothing yet` : 'No memory matches'}>
                <p>Say “remember that my favourite tea is Darjeeling”, or add a fact here.</p>
              </EmptyState>
            )}
            <ul className={ui('list')}>
              {found.map((memory) => (
                <MemoryItem key={memory.key} {...own} memory={memory} />
              ))}
            </ul>
          </>
        );
      }}
    </Show>
  );
}

interface Own extends AgentProps {
  onDone: () => void;
}

function MemoryItem({ memory, ...own }: Own & { memory: Memory }) {
  const { api } = useClient();
  const { key, content, category, scope, source, created_by: author, updated_at: at } = memory;
  const forget = () =>
    api.delete('/v1/agents/{id}/memories/{key}', { path: { id: own.agentId, key } }).then(own.onDone);
  return (
    <Item
      title={key}
      actions={
        <>
          <DialogButton
            size="small"
            aria-label={`Correct ${key}`}
            dialog={(close) => <MemoryForm {...own} given={memory} onClose={close} />}
          >
            Correct
          </DialogButton>
          <ConfirmButton
            size="small"
            aria-label={`Forget ${key}`}
            confirm={{
              title: `Forget “${key}”?`,
              description: `${own.name} no longer takes it into account. Messages that mention it stay.`,
              keep: 'Keep it',
              action: 'Forget',
              onConfirm: forget,
            }}
          >
            Forget
          </ConfirmButton>
        </>
      }
    >
      <p className={ui('plain')}>{content}</p>
      <Facts>
        <Badge>{scope === 'workspace' ? `${category}, all agents` : category}</Badge>
        <span>{author === 'user' ? 'Written by you' : 'Written by the agent'}</span>
        <RelativeTime at={at} />
        {source !== null && (
          <Link href={pages.message(own.workspaceId, source.conversation_id, source.message_id)}>Where from</Link>
        )}
      </Facts>
    </Item>
  );
}

/** @param props.given the memory to correct; none for a new one */
function MemoryForm({ workspaceId, agentId, given, onDone, onClose }: Own & { given?: Memory; onClose: () => void }) {
  const client = useClient();
  const isNew = given === undefined;
  async function save(form: FormData): Promise<void> {
    const [key, content] = ['key', 'content'].map((field) => String(form.get(field) ?? '').trim()) as [string, string];
    await saveMemory(client, { workspaceId, agentId }, given?.key ?? key, content, isNew);
    onClose();
    onDone();
  }
  return (
    <FormDialog title={isNew ? 'Add a memory' : `Correct “${given.key}”`} onClose={onClose} onSubmit={save}>
      {isNew && <Field label="Name" name="key" required maxLength={200} placeholder="favourite tea" />}
      <TextField label="What to remember" name="content" required defaultValue={given?.content} />
    </FormDialog>
  );
}
