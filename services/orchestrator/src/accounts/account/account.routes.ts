import type { Handler } from '../../platform/http/handlers.js';
import { visibleLine } from '../../platform/http/visible-text.js';
import type { AccountService } from './account.service.js';

/** REST-006 to REST-009 */
export function accountHandlers(service: AccountService) {
  const signIn: Handler<'signIn'> = async ({ actor }) => {
    await service.signIn(actor.identity, actor.session);
    return { status: 204 };
  };
  const signUp: Handler<'signUp'> = async ({ actor }) => {
    await service.signUp(actor.identity, actor.session);
    return { status: 204 };
  };
  const logout: Handler<'logout'> = async ({ actor }) => {
    await service.logout(actor.identity, actor.session);
    return { status: 204 };
  };
  const logoutEverywhere: Handler<'logoutEverywhere'> = async ({ actor }) => {
    await service.logoutEverywhere(actor.identity, actor.session);
    return { status: 204 };
  };
  const deleteAccount: Handler<'deleteAccount'> = async ({ actor, body }) => {
    const { reason = '', description = '' } = body;
    await service.delete(actor.identity, actor.session, { reason: visibleLine(reason), description });
    return { status: 204 };
  };
  return { signIn, signUp, logout, logoutEverywhere, deleteAccount };
}
