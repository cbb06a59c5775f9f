import type { Handler } from '../../http/handlers.js';
import type { DeviceService } from './devices.service.js';

/** REST-004 */
export function deviceHandlers(service: Pick<DeviceService, 'setPushToken'>) {
  const setPushToken: Handler<'setPushToken'> = async ({ actor, body }) => {
    await service.setPushToken(actor.userId, actor.session.device, body.push_token);
    return { status: 200, body: { success: true } };
  };
  return { setPushToken };
}
