import type { Handler } from '../../platform/http/handlers.js';
import type { UserService } from './users.service.js';

// REST-010, REST-011
export function userHandlers(service: UserService) {
  const getProfile: Handler<'getProfile'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.profile(actor.userId) },
  });
  const updateUser: Handler<'updateUser'> = async ({ actor, body }) => {
    await service.update(actor.userId, body);
    return { status: 204 };
  };
  return { getProfile, updateUser };
}
