import { randomUUID } from 'node:crypto';
import type { Workspace } from '@uswarm/contract';
import { userSwarmName } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { type Api, createApi } from '@uswarm/testkit/test-client';
import { signedHeaders, openEdgeClient, openIssuer } from './edge-client.js';
import type { Session } from './session.js';

/** A user who uses only REST. */
export interface TestAccount {
  api: Api;
  /** Signs up, which creates the first workspace, and creates more. @returns their UserSwarms' names */
  signUp(workspaces: number): Promise<string[]>;
  workspaces(): Promise<Workspace[]>;
  /** Deletes the account, if there is one. */
  deleteAccount(): Promise<void>;
}

/** Users with their own tokens, through the edge. Their accounts are deleted when the session is closed. */
export async function createTestAccounts(session: Session, count: number): Promise<TestAccount[]> {
  const { api: kube, onClose, settings, tools } = session;
  const edge = await openEdgeClient(kube, settings);
  onClose(() => edge.close());
  const issuer = await openIssuer(tools);
  try {
    const accounts = await Promise.all(
      Array.from({ length: count }, async () => {
        const token = await issuer.issue(`${randomUUID()}@example.com`);
        const credentials = await signedHeaders(kube, token);
        return testAccount(createApi({ restUrl: edge.url, credentials, fetch: edge.fetch }));
      }),
    );
    onClose(() => Promise.all(accounts.map((account) => account.deleteAccount())));
    return accounts;
  } finally {
    await issuer.close();
  }
}

function testAccount(api: Api): TestAccount {
  const workspaces = async (): Promise<Workspace[]> => ((await api('GET', '/v1/workspaces')).body as Data).data;
  return {
    api,
    workspaces,
    async signUp(wanted) {
      await accepted(api('POST', '/v1/auth/sign-up'));
      const others = Array.from({ length: wanted - 1 }, (_, at) =>
        accepted(api('POST', '/v1/workspaces', { name: `Workspace ${at + 2}` })),
      );
      await Promise.all(others);
      return (await workspaces()).map(({ id }) => userSwarmName(id));
    },
    async deleteAccount() {
      await eventually(
        async () => {
          const { status } = await api('DELETE', '/v1/auth/delete');
          if (status >= 500) throw new Error(`returned ${status}`);
          return true;
        },
        { description: 'the account is deleted', timeoutMs: 60_000 },
      );
    },
  };
}

interface Data {
  data: Workspace[];
}

async function accepted(answer: ReturnType<Api>): Promise<void> {
  const { body, status } = await answer;
  if (status >= 300) throw new Error(`returned ${status}: ${JSON.stringify(body)}`);
}
