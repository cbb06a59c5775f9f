import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { type ConnectedApps, startConnectedApps } from '@uswarm/testkit/connected-apps';
import { createScriptedModel, type ScriptedModel } from '../model/scripted-model.js';
import { type SearchTools, startSearchTools } from '../world/search-tools.js';
import { type LocalProgram, startLocalProgram } from './local-program.js';
import { createOperator, type Operator } from './operator.js';

/** The plans that tasks can name. */
const PLANS = [
  { code: 'free', name: 'Free', token_limit: 100_000_000, workspace_token_limit: 100_000_000 },
  {
    code: 'small-turns',
    name: 'Small turns',
    token_limit: 100_000_000,
    workspace_token_limit: 100_000_000,
    turn_token_limit: 1_000,
  },
  {
    code: 'small-month',
    name: 'Small month',
    token_limit: 1_000,
    workspace_token_limit: 1_000,
    turn_token_limit: 1_000_000,
  },
];

/** Everything that all runs share: the product, the world outside, and the model if it is scripted. */
export interface Stack {
  local: LocalProgram;
  operator: Operator;
  apps: ConnectedApps;
  search: SearchTools;
  /** Undefined with a real model. */
  scripted: { server: ModelServer; model: ScriptedModel } | undefined;
  close(): Promise<void>;
}

/** @param provider model provider settings, or `scripted` */
export async function startStack(provider: 'scripted' | Record<string, string>): Promise<Stack> {
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-evals-plans-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const plans = join(folder, 'plans.json');
  await writeFile(plans, JSON.stringify(PLANS));

  const apps = await startConnectedApps({ severalAccounts: true });
  started.defer(apps.close);
  const search = await startSearchTools();
  started.defer(search.close);
  const model = createScriptedModel();
  const server = provider === 'scripted' ? await startModelServer({ script: model.script }) : undefined;
  if (server !== undefined) started.defer(server.close);
  const local = await startLocalProgram({
    ...(provider === 'scripted'
      ? { OPENAI_BASE_URL: server?.baseUrl ?? '', OPENAI_API_KEY: 'none', OPENAI_MODEL: 'scripted' }
      : provider),
    ...search.env,
    INTEGRATION_PROVIDERS: apps.providers,
    PLANS_FILE: plans,
    // Tasks do not contain titles and summaries.
    SUMMARY_WORKERS: '0',
  });
  started.defer(local.stop);
  const all = started.move();
  return {
    local,
    operator: createOperator(local.admin),
    apps,
    search,
    scripted: server === undefined ? undefined : { server, model },
    close: () => all.disposeAsync(),
  };
}
