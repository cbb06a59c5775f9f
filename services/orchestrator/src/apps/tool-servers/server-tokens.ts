import { ApiError } from '@uswarm/contract';
import { McpFailure } from '@uswarm/mcp-client';
import type { AccessTokens } from '../integrations/access-tokens.js';
import { connectionKey } from './server-accounts.js';
import { AccountNeeded } from '../../turns/tools/platform-tool.js';
import { readServerSecret } from './server-secret.js';
import type { ServerTokens } from './server-client.js';
import type { ToolServer } from './tool-servers-file.js';

/** A token that all users share. @param directory contains the token files */
export function sharedTokens({ auth }: ToolServer, directory: string | undefined): ServerTokens {
  if (auth.type !== 'bearer') return { current: async () => undefined };
  return {
    current: () =>
      readServerSecret(directory, auth.secret).catch((error: unknown) => {
        throw new McpFailure('cannot be used, because its token cannot be read', {}, { cause: error });
      }),
  };
}

/** An account's token, which is renewed when it expires or is rejected. */
export function userTokens(server: ToolServer, userId: string, accessTokens: AccessTokens): ServerTokens {
  const { id, name, auth } = server;
  if (auth.type === 'none') return { current: async () => undefined };
  const key = connectionKey(id);
  const issued = async (token: Promise<string>): Promise<string> => {
    try {
      return await token;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'integration_not_found') throw new AccountNeeded(name, { cause: error });
      throw new McpFailure('cannot renew the access to the account at the moment', { status: 401 }, { cause: error });
    }
  };
  return {
    current: (signal) => issued(accessTokens.current(userId, key, signal)),
    replacing: (rejected = '', signal) => issued(accessTokens.replacing(userId, key, rejected, signal)),
  };
}
