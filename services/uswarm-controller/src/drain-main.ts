import { createCredentials, createKubeClient, type KubeClient, KubeError, loadKubeConfig } from '@uswarm/kube-client';
import { ConfigError, systemClock } from '@uswarm/service-kit';
import { cleanUp } from './drain/cleanup.js';
import { loadCleanupConfig, loadDrainConfig, loadFinishConfig } from './drain/config.js';
import { DrainError } from './drain/drain-error.js';
import { drain } from './drain/drain.js';
import { finish } from './drain/finish.js';
import { createDrainFlag } from './drain/drain-flag.js';
import { createReleaseGuard } from './drain/release-guard.js';

// The Jobs during an uninstall. `helm uninstall` runs `drain` before it removes the release and `finish` afterwards;
// Argo CD runs `cleanup` after it has removed everything. Helm prints their log to the operator.

const FINISH_MS = 60_000;
/** Exit code for a permanent failure. The Job is not retried. */
const FINAL = 3;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const stopping = new AbortController();
const { signal } = stopping;
process.once('SIGTERM', () => stopping.abort(new DrainError('stopped; the drain continues when it runs again')));

async function runDrain(client: KubeClient): Promise<void> {
  const config = loadDrainConfig(process.env);
  const flag = createDrainFlag({
    client,
    place: config.DRAIN_FLAG,
    run: config.DRAIN_RUN,
    clock: systemClock,
  });
  const { RUNTIME_NAMESPACES: runtimeNamespaces } = config;
  const times = { graceMs: config.DRAIN_GRACE_S * 1_000, timeoutMs: config.DRAIN_TIMEOUT_S * 1_000 };
  try {
    await drain({ client, guard: { begin: flag.raise, check: flag.hold }, runtimeNamespaces, ...times, print }, signal);
    await flag.complete(signal);
  } catch (error) {
    // uswarm stays installed and in use. A pod that was stopped leaves the flag to its replacement.
    if (!signal.aborted)
      await flag.lower().catch(() => print('Failed to delete the drain flag; it expires in a minute.'));
    throw error;
  }
  if (config.DRAIN_KEEPS !== '')
    print(`Helm now removes the release. The following objects are kept:\n${config.DRAIN_KEEPS.trimEnd()}`);
}

async function runCleanup(client: KubeClient): Promise<void> {
  const {
    RELEASE_NAMESPACE: namespace,
    RELEASE_COMPONENTS: components,
    CONTROLLER_LEASE: lease,
    DRAIN_TIMEOUT_S,
  } = loadCleanupConfig(process.env);
  const guard = createReleaseGuard({ client, namespace, components });
  await cleanUp({ client, guard, lease, timeoutMs: DRAIN_TIMEOUT_S * 1_000, print }, signal);
}

const STEPS: Readonly<Record<string, (client: KubeClient) => Promise<void>>> = {
  drain: runDrain,
  finish: (client) => {
    const { CONTROLLER_LEASE: lease } = loadFinishConfig(process.env);
    return finish({ client, lease, timeoutMs: FINISH_MS, print }, signal);
  },
  cleanup: runCleanup,
};

try {
  const step = STEPS[process.argv[2] ?? ''];
  if (step === undefined)
    throw new DrainError(`missing or unknown subcommand. Usage: drain-main.js ${Object.keys(STEPS).join('|')}`);
  const credentials = await createCredentials(loadKubeConfig(process.env));
  await step(createKubeClient({ credentials, fieldManager: 'uswarm-drain', timeoutMs: 10_000 }));
  await credentials.close();
} catch (error) {
  const cause = signal.aborted ? signal.reason : error;
  if (!(cause instanceof DrainError || cause instanceof ConfigError || cause instanceof KubeError)) throw cause;
  print(`error: ${cause.message}`);
  process.exitCode = cause instanceof DrainError && !signal.aborted && process.argv[2] !== 'finish' ? FINAL : 1;
}
