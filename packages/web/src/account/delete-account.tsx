import { useState } from 'react';
import { UswarmError } from '@uswarm/client';
import { Section } from '../screen/screen.js';
import styles from '../screen/screen.module.css';
import { useSession } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Dialog, DialogActions } from '../ui/dialog.js';
import ui from '../ui/ui.module.css';

const CONSEQUENCES = [
  'All workspaces, conversations, documents, files and memories are deleted. They cannot be restored.',
  'Replies that agents are writing end. Apps are disconnected, and their access is revoked.',
  'Receipts and exports are deleted too. Export your data first if you want to keep it.',
  'You are signed out on all devices. You can sign up again, and then begin with nothing.',
];

/** Deletes the account after the user has typed the e-mail address. */
export function DeleteAccount() {
  const { client, user, signOut } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState<string>();
  function remove(): void {
    client.api.delete('/v1/auth/delete', { body: {} }).then(signOut, (error: unknown) => {
      const isOld = error instanceof UswarmError && error.code === 'reauthentication_required';
      setProblem(isOld ? 'Sign out and in again first: your sign-in is too old for this.' : (error as Error).message);
    });
  }
  const close = (): void => (setOpen(false), setTyped(''), setProblem(undefined));
  return (
    <Section title="Delete the account">
      <div>
        <Button look="danger" onClick={() => setOpen(true)}>
          Delete my account…
        </Button>
      </div>
      {isOpen && (
        <Dialog title="Delete your account?" onClose={close}>
          <ul className={styles['bullets']}>
            {CONSEQUENCES.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
          <label className={ui['field']}>
            Type {user.email} to confirm
            <input
              className={ui['input']}
              autoComplete="off"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
          {problem !== undefined && <p role="alert">{problem}</p>}
          <DialogActions>
            <Button onClick={close}>Keep my account</Button>
            <Button look="danger" disabled={typed.trim().toLowerCase() !== user.email.toLowerCase()} onClick={remove}>
              Delete everything
            </Button>
          </DialogActions>
        </Dialog>
      )}
    </Section>
  );
}
