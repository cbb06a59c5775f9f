import { useOutbox } from '@uswarm/client/react';
import { useRef, useState, type ClipboardEvent, type KeyboardEvent } from 'react';
import { useAgents, useClient } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { notify, notifyError } from '../ui/notify.js';
import { usePlace } from './chat.js';
import { useDraft } from './drafts.js';
import { mentionsIn } from './mentions.js';
import message from './message.module.css';
import styles from './screen.module.css';

/** Of the API. */
const [MAX_TEXT, MAX_FILES] = [32_000, 20];

export function Composer({ isWorking }: { isWorking: boolean }) {
  const { workspaceId, conversationId } = usePlace();
  const client = useClient();
  const agents = useAgents(workspaceId);
  const [text, write] = useDraft(conversationId);
  const [files, setFiles] = useState<File[]>([]);
  const chat = client.workspace(workspaceId).conversation(conversationId);
  const [stopAsked, setStopAsked] = useState(false);
  const unsent = useOutbox(client).findLast((item) => item.conversation_id === conversationId && !item.attempted);
  const isEmpty = text.trim() === '' && files.length === 0;

  function add(more: Iterable<File>): void {
    setFiles((known) => [...known, ...more].slice(0, MAX_FILES));
  }
  function send(): void {
    if (isEmpty || text.length > MAX_TEXT) return;
    // The outbox shows what becomes of it.
    chat.send({ text, files, mentions: mentionsIn(text, agents) }).catch(() => undefined);
    write('');
    setFiles([]);
  }
  function stop(): void {
    setStopAsked(false);
    chat.stop().catch(notifyError('The answer could not be stopped'));
  }
  function onEscape(): void {
    if (!isWorking) return;
    if (stopAsked) return stop();
    setStopAsked(true);
    notify({ title: 'Press Esc again to stop the answer' });
  }
  async function takeBack(): Promise<void> {
    if (unsent === undefined) return;
    await client.outbox.cancel(unsent.local_id);
    write(unsent.text);
  }
  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>): void {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape') onEscape();
    else if (event.key === 'ArrowUp' && text === '') void takeBack();
  }
  function onPaste(event: ClipboardEvent): void {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    add(event.clipboardData.files);
  }

  return (
    <form
      className={styles['composer']}
      aria-label="Write a message"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add(event.dataTransfer.files);
      }}
    >
      <PickedFiles files={files} onRemove={(file) => setFiles(files.filter((one) => one !== file))} />
      <textarea
        className={styles['input']}
        aria-label="Message"
        placeholder="Ask the swarm, or @mention an agent"
        rows={1}
        value={text}
        onChange={(event) => write(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className={styles['tools']}>
        <AttachButton onPick={add} />
        <span>
          {text.length > MAX_TEXT
            ? `${text.length - MAX_TEXT} characters too many`
            : 'Enter sends, Shift+Enter adds a line'}
        </span>
        {isWorking && (
          <Button size="icon" aria-label="Stop the answer" onClick={stop}>
            <Icon name="stop" />
          </Button>
        )}
        <Button type="submit" look="primary" size="icon" aria-label="Send" disabled={isEmpty || text.length > MAX_TEXT}>
          <Icon name="arrow" />
        </Button>
      </div>
    </form>
  );
}

function AttachButton({ onPick }: { onPick: (files: FileList) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => {
          if (event.target.files) onPick(event.target.files);
          event.target.value = '';
        }}
      />
      <Button look="quiet" size="icon" aria-label="Attach files" onClick={() => input.current?.click()}>
        <Icon name="clip" />
      </Button>
    </>
  );
}

function PickedFiles({ files, onRemove }: { files: File[]; onRemove: (file: File) => void }) {
  if (files.length === 0) return null;
  return (
    <ul className={message['files']} aria-label="Attached files">
      {files.map((file, index) => (
        <li key={index} className={message['file']}>
          {file.name}
          <Button look="quiet" size="small" aria-label={`Remove ${file.name}`} onClick={() => onRemove(file)}>
            <Icon name="close" size={14} />
          </Button>
        </li>
      ))}
    </ul>
  );
}
