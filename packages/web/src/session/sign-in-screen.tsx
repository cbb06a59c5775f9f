import { useState } from 'react';
import { Button } from '../ui/button.js';
import { Field } from '../ui/field.js';
import { ui } from '../ui/ui.js';
import type { Configuration } from './configuration.js';
import { beginSignIn, type LocalUser } from './sign-in.js';
import styles from './sign-in.module.css';

interface Props {
  configuration: Configuration | undefined;
  problem: string | undefined;
  returnTo: string;
  /** Over another screen, which has the main landmark. */
  isOver?: boolean;
}
const DEMO: LocalUser = { name: 'Ada', email: 'ada@example.com' };

export function SignInScreen({ configuration, problem, returnTo, isOver = false }: Props) {
  const Landmark = isOver ? 'div' : 'main';
  const [state, setState] = useState<{ busy: boolean; error?: string }>({ busy: false });
  async function signIn(user?: LocalUser): Promise<void> {
    if (configuration === undefined) return location.reload();
    setState({ busy: true });
    await beginSignIn(configuration, {
      returnTo,
      again: problem !== undefined,
      accepts: user !== undefined,
      user,
    }).catch((error: Error) => setState({ busy: false, error: error.message }));
  }
  const shown = state.error ?? problem;
  return (
    <Landmark className={styles['screen']}>
      <div className={ui('stack', styles['box'])}>
        <img src="/icon.svg" width={52} height={52} alt="" />
        <div className={ui('stack tight')}>
          <h1>Welcome to uswarm</h1>
          <p className={ui('lead')}>A manager and four specialists work for you, and you see what they do.</p>
        </div>
        {shown !== undefined && (
          <p role="alert" className={ui('notice')} data-tone="bad">
            {shown}
          </p>
        )}
        <Button
          look="primary"
          disabled={state.busy}
          onClick={() => void signIn(configuration?.local ? DEMO : undefined)}
        >
          {configuration === undefined ? 'Try again' : configuration.local ? `Continue as ${DEMO.name}` : 'Sign in'}
        </Button>
        {configuration?.local && <NameForm busy={state.busy} onSignIn={(user) => void signIn(user)} />}
      </div>
    </Landmark>
  );
}

/** The e-mail address, which identifies the user, follows from the name. */
function NameForm({ busy, onSignIn }: { busy: boolean; onSignIn: (user: LocalUser) => void }) {
  const [name, setName] = useState('');
  const slug = name
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return (
    <form
      className={ui('stack', styles['form'])}
      onSubmit={(event) => {
        event.preventDefault();
        onSignIn({ name: name.trim(), email: `${slug || 'user'}@example.com` });
      }}
    >
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
    </form>
  );
}
