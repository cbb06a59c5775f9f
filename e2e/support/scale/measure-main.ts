import { z } from 'zod';
import { measureScale } from './measure.js';

// The measurement of `npm run scale`. Its only argument is a JSON object with the options.
const Options = z.strictObject({
  kubeconfig: z.string(),
  context: z.string(),
  auditLog: z.string().optional(),
  artifacts: z.string(),
  swarms: z.int().min(1),
  limitsLifted: z.boolean(),
});

const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ended.abort());
try {
  const options = Options.parse(JSON.parse(process.argv[2] ?? '{}'));
  await measureScale({ ...options, signal: ended.signal, say: (line) => void process.stdout.write(`${line}\n`) });
} catch (error) {
  if (!ended.signal.aborted) throw error;
  process.stderr.write('The run was ended.\n');
  // The measurement ends after its cleanup.
  process.exit(1);
}
