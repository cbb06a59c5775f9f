import { useState } from 'react';
import { Choice, MeterBar, Screen, Section, Show } from '../screen/screen.js';
import { useLoaded, useSession } from '../session/use-client.js';
import { chooseTheme, chosenTheme, THEMES } from '../theme/theme.js';
import { Button } from '../ui/button.js';
import { ConfirmButton } from '../ui/dialog.js';
import { ui } from '../ui/ui.js';
import { metersOf } from '../usage/amounts.js';
import { DeleteAccount } from './delete-account.js';
import { DataExport } from './data-export.js';
import { NotificationSetting } from './notification-setting.js';

export function AccountScreen() {
  const { user } = useSession();
  const [theme, setTheme] = useState(chosenTheme);
  const loaded = useLoaded('profile', async ({ api }, signal) => {
    const [profile, usage] = await Promise.all([
      api.get('/v1/users/profile', { signal }),
      api.get('/v1/users/usage/summary', { signal }),
    ]);
    return { profile: profile.data, usage: usage.data };
  });
  return (
    <Screen title="Account" lead={`${user.name}, ${user.email}`}>
      <Section title="Appearance">
        <Choice
          label="Theme"
          value={theme}
          options={THEMES}
          onChange={(value) => {
            chooseTheme(value);
            setTheme(value);
          }}
        />
      </Section>
      <NotificationSetting />
      <Section title="Plan">
        <Show loaded={loaded} what="profile">
          {({ profile, usage }) => (
            <>
              <p>{profile.subscription.name}</p>
              {metersOf(undefined, usage).map((meter) => (
                <MeterBar key={meter.label} meter={meter} />
              ))}
            </>
          )}
        </Show>
      </Section>
      <Devices />
      <DataExport />
      <DeleteAccount />
    </Screen>
  );
}

function Devices() {
  const { client, signOut } = useSession();
  return (
    <Section
      title="Devices"
      lead="The service stores no list of sessions: whoever has a valid sign-in of yours is you."
    >
      <div className={ui('row')}>
        <Button onClick={() => void signOut()}>Sign out here</Button>
        <ConfirmButton
          confirm={{
            title: 'Sign out everywhere?',
            description:
              'All devices are signed out at once, also this one, and receive no notifications until you sign in there again. Messages that wait in this browser are lost.',
            action: 'Sign out everywhere',
            onConfirm: () => client.api.post('/v1/auth/logout-all').then(signOut),
          }}
        >
          Sign out everywhere
        </ConfirmButton>
      </div>
    </Section>
  );
}
