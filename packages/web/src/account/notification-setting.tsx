import { useDeviceNotifications } from '../notifications/use-device-notifications.js';
import { Section } from '../screen/screen.js';
import { Button } from '../ui/button.js';
import { Problem } from '../ui/parts.js';

const EXPLAINED = {
  unsupported: 'This browser has no notifications. On an iPhone, add the page to the home screen first.',
  unavailable: 'This installation sends no notifications to browsers.',
  blocked: 'This browser blocks notifications of this page. Allow them in its settings.',
  off: 'Learn that an answer is ready or a card waits, also while the page is closed.',
  on: 'This device learns that an answer is ready or a card waits, also while the page is closed.',
} as const;

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
