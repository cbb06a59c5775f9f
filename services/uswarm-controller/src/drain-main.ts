import { createCredentials, createKubeClient, KubeError, loadKubeConfig } from '@uswarm/kube-client';
import { ConfigError, systemClock } from '@uswarm/service-kit';
import { loadDrainConfig } from './drain/config.js';
import { drain, DrainError } from './drain/drain.js';
import { finish } from './drain/finish.js';

// The Jobs of `helm uninstall`: `drain` before anything is removed, `finish` after everything is. Their
// log is for people: helm prints it.

const FINISH_MS = 60_000;
const STEPS = ['drain', 'finish'] as const;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort(new DrainError('stopped; it goes on where it was when it runs again')));

try {
  const step = STEPS.find((name) => name === process.argv[2]);
  if (step === undefined) throw new DrainError(`say which: ${STEPS.join(' or ')}`);
  const config = loadDrainConfig(process.env);
  const credentials = await createCredentials(loadKubeConfig(process.env));
  const client = createKubeClient({ credentials, fieldManager: 'uswarm-drain', timeoutMs: 10_000 });
  if (step === 'drain') {
    const { DRAIN_FLAG: flag, RUNTIME_NAMESPACES: runtimeNamespaces } = config;
    const times = { graceMs: config.DRAIN_GRACE_S * 1_000, timeoutMs: config.DRAIN_TIMEOUT_S * 1_000 };
    await drain({ client, flag, runtimeNamespaces, ...times, say, clock: systemClock }, stopping.signal);
    if (config.DRAIN_KEEPS !== '') say(`Helm now removes the release. What stays:\n${config.DRAIN_KEEPS.trimEnd()}`);
  } else {
    await finish({ client, timeoutMs: FINISH_MS, say }, stopping.signal);
  }
  await credentials.close();
} catch (error) {
  const cause = stopping.signal.aborted ? stopping.signal.reason : error;
  if (!(cause instanceof DrainError || cause instanceof ConfigError || cause instanceof KubeError)) throw cause;
  say(`Not removed: ${cause.message}`);
  process.exitCode = 1;
}
