import { useRef } from 'react';
import { Boundary } from '../ui/boundary.js';
import { Button } from '../ui/button.js';
import { fileSize } from '../ui/file-size.js';
import { Form } from '../ui/form.js';
import { Icon } from '../ui/icon.js';
import { part } from '../ui/part.js';
import { ui } from '../ui/ui.js';
import styles from './screen.module.css';
import { useComposer } from './use-composer.js';

const MentionMenu = part(() => import('./mention-menu.js'));

export function Composer({ isWorking }: { isWorking: boolean }) {
  const { field, drop, mentions, files, problem, excess, canSend, add, remove, send, stop } = useComposer(isWorking);
  return (
    <Form className={ui('input', styles['composer'])} aria-label="Write a message" onSubmit={() => send()} {...drop}>
      <PickedFiles files={files} onRemove={remove} />
      {problem !== '' && (
        <p className={ui('facts')} data-tone="bad" role="alert">
          {problem}
        </p>
      )}
      <textarea aria-label="Message" placeholder="Ask the swarm, or @mention an agent" rows={1} {...field} />
      <Boundary instead={null}>{mentions && mentions.offered.length > 0 && <MentionMenu {...mentions} />}</Boundary>
      <div className={ui('row')}>
        <AttachButton onPick={add} />
        <small className={ui('grow')} role={excess === '' ? undefined : 'alert'}>
          {excess || 'Enter sends, Shift+Enter adds a line'}
        </small>
        {isWorking && canSend && (
          <Button size="small" title="The agent reads it at its next step (Ctrl+Enter)" onClick={() => send(true)}>
            Send now
          </Button>
        )}
        {isWorking && (
          <Button size="icon" aria-label="Stop the answer" onClick={stop}>
            <Icon name="stop" />
          </Button>
        )}
        <Button type="submit" look="primary" size="icon" aria-label="Send" disabled={!canSend}>
          <Icon name="arrow" />
        </Button>
      </div>
    </Form>
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
    <ul className={ui('row')} aria-label="Attached files">
      {files.map((file, index) => (
        <li key={index} className={ui('notice')}>
          {file.name} <small>{fileSize(file.size)}</small>
          <Button look="quiet" size="small" aria-label={`Remove ${file.name}`} onClick={() => onRemove(file)}>
            <Icon name="close" size={14} />
          </Button>
        </li>
      ))}
    </ul>
  );
}
