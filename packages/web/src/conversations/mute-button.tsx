import type { Conversation } from '@uswarm/client';
import { useClient } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { notifyError } from '../ui/notify.js';

/** Turns the conversation's notifications on or off, for all devices. */
export function MuteButton(props: { workspaceId: string; conversation: Conversation }) {
  const { api } = useClient();
  const { workspaceId, conversation } = props;
  const { id, muted = false } = conversation;
  const route = '/v1/workspaces/{workspaceId}/conversations/{id}';
  const change = (): void =>
    void api
      .patch(route, { path: { workspaceId, id }, body: { muted: !muted } })
      .catch(notifyError('The notifications were not changed'));
  return (
    <Button
      look="quiet"
      size="icon"
      title={muted ? 'Notifications of this conversation are muted' : 'Mute notifications'}
      aria-label="Mute notifications"
      aria-pressed={muted}
      onClick={change}
    >
      <Icon name={muted ? 'muted' : 'bell'} size={16} />
    </Button>
  );
}
