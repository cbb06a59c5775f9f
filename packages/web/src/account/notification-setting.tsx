import { EXPLAINED, useDeviceNotifications } from '../notifications/use-device-notifications.js';
import { Section } from '../screen/screen.js';
import { Button } from '../ui/button.js';
import { Problem } from '../ui/parts.js';

export function NotificationSetting() {
  const { state, busy, error, set } = useDeviceNotifications();
  return (
    <Section title="Notifications on this device" lead={state && EXPLAINED[state]}>
      {(state === 'on' || state === 'off') && (
        <div>
          <Button disabled={busy} onClick={() => set(state === 'off')}>
            {state === 'on' ? 'Do not notify me on this device' : 'Notify me on this device'}
          </Button>
        </div>
      )}
      {error !== undefined && <Problem>{error.message}</Problem>}
    </Section>
  );
}
