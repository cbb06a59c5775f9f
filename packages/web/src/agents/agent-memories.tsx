import { type FormEvent, useState } from 'react';
import { Link } from 'wouter';
import { Confirm, Show } from '../screen/screen.js';
import styles from '../screen/screen.module.css';
import { pages } from '../session/pages.js';
import { useClient, useLoaded } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Dialog, DialogActions } from '../ui/dialog.js';
import { Icon } from '../ui/icon.js';
import { notifyError } from '../ui/notify.js';
import { Badge, EmptyState, RelativeTime } from '../ui/parts.js';
import ui from '../ui/ui.module.css';
import type { AgentProps } from './agent-props.js';
import { LIMIT, loadMemories, matching, type Memory, saveMemory } from './memories.js';

/** An agent's memories, with their sources. Users correct and forget them. */
export function AgentMemories({ workspaceId, agentId, name }: AgentProps) {
  const { api } = useClient();
  const [words, setWords] = useState('');
  const [opened, setOpened] = useState<{ edit?: Memory | 'new'; forget?: Memory }>({});
  const loaded = useLoaded(`memories ${agentId}`, (client, signal) => loadMemories(client, agentId, signal));
  const refresh = (): void => (setOpened({}), loaded.reload());
  const forget = (key: string): void =>
    void api
      .delete('/v1/agents/{id}/memories/{key}', { path: { id: agentId, key } })
      .then(refresh, notifyError('It was not forgotten'));
  return (
    <Show loaded={loaded} what="memories">
      {(memories) => {
        const found = matching(memories, words);
        return (
          <>
            <div className={styles['row']}>
              <input
                type="search"
                className={ui['input']}
                aria-label="Search memories"
                placeholder="Search"
                value={words}
                onChange={(event) => setWords(event.target.value)}
              />
              <Button look="primary" disabled={memories.length >= LIMIT} onClick={() => setOpened({ edit: 'new' })}>
                <Icon name="plus" /> Add
              </Button>
            </div>
            <p className={styles['lead']}>
              {memories.length} of {LIMIT} memories{memories.length >= LIMIT && '. Forget some to make room.'}
            </p>
            {found.length === 0 && (
              <EmptyState icon="search" title={words === '' ? `${name} remembers nothing yet` : 'No memory matches'}>
                <p>Say “remember that my favourite tea is Darjeeling”, or add a fact here.</p>
              </EmptyState>
            )}
            <ul className={styles['cards']}>
              {found.map((memory) => (
                <MemoryCard
                  key={memory.key}
                  workspaceId={workspaceId}
                  memory={memory}
                  onEdit={() => setOpened({ edit: memory })}
                  onForget={() => setOpened({ forget: memory })}
                />
              ))}
            </ul>
            {opened.edit !== undefined && (
              <MemoryForm
                {...{ workspaceId, agentId }}
                given={opened.edit}
                onDone={refresh}
                onClose={() => setOpened({})}
              />
            )}
            {opened.forget !== undefined && (
              <Confirm
                title={`Forget “${opened.forget.key}”?`}
                description={`${name} no longer takes it into account. Messages that mention it stay.`}
                keep="Keep it"
                action="Forget"
                onClose={() => setOpened({})}
                onConfirm={() => forget(opened.forget?.key ?? '')}
              />
            )}
          </>
        );
      }}
    </Show>
  );
}

function MemoryCard(props: { workspaceId: string; memory: Memory; onEdit: () => void; onForget: () => void }) {
  const { key, content, category, source, created_by: author, updated_at: at } = props.memory;
  return (
    <li className={styles['card']}>
      <div className={styles['about']}>
        <h3>{key}</h3>
        <p className={styles['text']}>{content}</p>
        <p className={styles['facts']}>
          <Badge>{category}</Badge>
          <span>{author === 'user' ? 'Written by you' : 'Written by the agent'}</span>
          <RelativeTime at={at} />
          {source !== null && (
            <Link href={pages.message(props.workspaceId, source.conversation_id, source.message_id)}>Where from</Link>
          )}
        </p>
      </div>
      <div className={styles['row']}>
        <Button size="small" aria-label={`Correct ${key}`} onClick={props.onEdit}>
          Correct
        </Button>
        <Button size="small" look="danger" aria-label={`Forget ${key}`} onClick={props.onForget}>
          Forget
        </Button>
      </div>
    </li>
  );
}

interface FormProps {
  workspaceId: string;
  agentId: string;
  given: Memory | 'new';
  onDone: () => void;
  onClose: () => void;
}
function MemoryForm({ workspaceId, agentId, given, onDone, onClose }: FormProps) {
  const client = useClient();
  function save(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [key, content] = ['key', 'content'].map((field) => String(form.get(field) ?? '').trim()) as [string, string];
    const saved = saveMemory(
      client,
      { workspaceId, agentId },
      given === 'new' ? key : given.key,
      content,
      given === 'new',
    );
    void saved.then(onDone, notifyError('The memory was not saved'));
  }
  return (
    <Dialog title={given === 'new' ? 'Add a memory' : `Correct “${given.key}”`} onClose={onClose}>
      <form onSubmit={save} className={styles['form']}>
        {given === 'new' && (
          <label className={ui['field']}>
            Name
            <input name="key" className={ui['input']} required maxLength={200} placeholder="favourite tea" />
          </label>
        )}
        <label className={ui['field']}>
          What to remember
          <textarea
            name="content"
            className={ui['input']}
            required
            rows={4}
            defaultValue={given === 'new' ? '' : given.content}
          />
        </label>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit">
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
