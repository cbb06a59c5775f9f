import { useState } from 'react';
import { UswarmError } from '@uswarm/client';
import { Section } from '../screen/screen.js';
import { useSession } from '../session/use-client.js';
import { DialogButton, FormDialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { ui } from '../ui/ui.js';

const CONSEQUENCES = [
  'All workspaces, conversations, documents, files and memories are deleted. They cannot be restored.',
  'Replies that agents are writing end. Apps are disconnected, and their access is revoked.',
  'Receipts and exports are deleted too. Export your data first if you want to keep it.',
  'You are signed out on all devices. You can sign up again, and then begin with nothing.',
];

/** Typing the e-mail address confirms the deletion. */
export function DeleteAccount() {
  return (
    <Section title="Delete the account">
      <div>
        <DialogButton look="danger" dialog={(close) => <DeleteForm onClose={close} />}>
          Delete my account…
        </DialogButton>
      </div>
    </Section>
  );
}

function DeleteForm({ onClose }: { onClose: () => void }) {
  const { client, user, signOut } = useSession();
  const [typed, setTyped] = useState('');
  async function remove(): Promise<void> {
    try {
      await client.api.delete('/v1/auth/delete', { body: {} });
    } catch (error) {
      if (error instanceof UswarmError && error.code === 'reauthentication_required')
        throw new Error('Sign out and in again first: your sign-in is too old for this.', { cause: error });
      throw error;
    }
    await signOut();
  }
  return (
    <FormDialog
      title="Delete your account?"
      keep="Keep my account"
      action="Delete everything"
      isDangerous
      isDisabled={typed.trim().toLowerCase() !== user.email.toLowerCase()}
      onClose={onClose}
      onSubmit={remove}
    >
      <ul className={ui('stack tight bullets')}>
        {CONSEQUENCES.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <Field
        label={`Type ${user.email} to confirm`}
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  );
}
