import { useState } from 'react';
import { Button } from '../ui/button.js';
import { Field } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { ui } from '../ui/ui.js';
import type { Configuration } from './configuration.js';
import { type LocalUser, localUser } from './sign-in.js';
import styles from './sign-in.module.css';
import { useSignIn } from './use-sign-in.js';
import { Problem } from '../ui/parts.js';

interface Props {
  configuration: Configuration | undefined;
  problem: string | undefined;
  returnTo: string;
  /** True if shown over another screen, which has the main landmark. */
  isOver?: boolean;
}
const DEMO: LocalUser = { name: 'Ada', email: 'ada@example.com' };

export function SignInScreen({ configuration, problem, returnTo, isOver = false }: Props) {
  const Landmark = isOver ? 'div' : 'main';
  const { isBusy, shown, signIn } = useSignIn(configuration, problem, returnTo);
  return (
    <Landmark className={styles['screen']}>
      <div className={ui('stack', styles['box'])}>
        <img src="/icon.svg" width={52} height={52} alt="" />
        <div className={ui('stack tight')}>
          <h1>Welcome to uswarm</h1>
          <p className={ui('lead')}>A manager and four specialists work for you, and you see what they do.</p>
        </div>
        {shown !== undefined && <Problem>{shown}</Problem>}
        <Button look="primary" disabled={isBusy} onClick={() => void signIn(configuration?.local ? DEMO : undefined)}>
          {configuration === undefined ? 'Try again' : configuration.local ? `Continue as ${DEMO.name}` : 'Sign in'}
        </Button>
        {configuration?.local && <NameForm busy={isBusy} onSignIn={(user) => void signIn(user)} />}
      </div>
    </Landmark>
  );
}

function NameForm({ busy, onSignIn }: { busy: boolean; onSignIn: (user: LocalUser) => void }) {
  const [name, setName] = useState('');
  return (
    <Form className={ui('stack', styles['form'])} onSubmit={() => onSignIn(localUser(name))}>
      <Field
        label="Or under another name"
        value={name}
        required
        maxLength={60}
        autoComplete="name"
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" disabled={busy || name.trim() === ''}>
        Continue
      </Button>
      <small>
        Local mode has no passwords, and keeps everything on this machine. By continuing, you accept the{' '}
        <a href="/legal/terms">terms</a> and the <a href="/legal/privacy">privacy policy</a>.{' '}
        <a href="/developers">For developers</a>
      </small>
    </Form>
  );
}
