import type { Handler } from '../../platform/http/handlers.js';
import type { DeviceService } from './devices.service.js';

/** REST-004 */
export function deviceHandlers(service: Pick<DeviceService, 'setPushToken' | 'dropPushToken'>) {
  const setPushToken: Handler<'setPushToken'> = async ({ actor, body }) => {
    await service.setPushToken(actor.userId, actor.session.device, body);
    return { status: 200, body: { success: true } };
  };
  const deletePushToken: Handler<'deletePushToken'> = async ({ actor }) => {
    await service.dropPushToken(actor.userId, actor.session.device);
    return { status: 204 };
  };
  return { setPushToken, deletePushToken };
}
