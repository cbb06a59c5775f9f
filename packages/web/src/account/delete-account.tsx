import { useState } from 'react';
import { Section } from '../screen/screen.js';
import { useSession } from '../session/use-client.js';
import { DialogButton, FormDialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { ui } from '../ui/ui.js';
import { CONSEQUENCES, removeAccount } from './remove-account.js';

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
  const session = useSession();
  const { email } = session.user;
  const [typed, setTyped] = useState('');
  return (
    <FormDialog
      title="Delete your account?"
      keep="Keep my account"
      action="Delete everything"
      isDangerous
      isDisabled={typed.trim().toLowerCase() !== email.toLowerCase()}
      onClose={onClose}
      onSubmit={() => removeAccount(session)}
    >
      <ul className={ui('stack tight bullets')}>
        {CONSEQUENCES.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <Field
        label={`Type ${email} to confirm`}
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  );
}
