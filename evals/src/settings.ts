import { parseArgs } from 'node:util';
import { MODEL_PROVIDER_METADATA, type ModelProvider } from '@uswarm/contract/providers';
import { LLAMA_MODELS, type LlamaModel } from '@uswarm/dev-servers';

export const SCRIPTS = ['reference', 'empty', 'wrong'] as const;
export type ScriptName = (typeof SCRIPTS)[number];

/** A model on this machine. */
export interface LlamaSettings {
  model: LlamaModel;
  threads: number;
  contextWindow: number;
  outputLimit: number;
}

/** Settings for `npm run eval`. */
export interface Settings {
  /** `scripted`, a server to start, or settings of local mode. */
  provider: 'scripted' | { llama: LlamaSettings } | { env: Record<string, string> };
  /** For the result. */
  providerName: ModelProvider | 'scripted' | 'llama';
  model: string;
  script: ScriptName;
  repeat: number;
  /** Task ids, or categories; all if empty. */
  only: string[];
  concurrency: number;
  deadlineMs: number;
  /** Undefined: below `evals/results`. */
  out: string | undefined;
}

/** An expected error. Only its message is printed. */
export class UsageError extends Error {
  override name = 'UsageError';
}

const PROVIDERS = Object.keys(MODEL_PROVIDER_METADATA) as ModelProvider[];
const [LLAMA_DEFAULT] = LLAMA_MODELS;
/** Tokens. A small model that repeats itself ends at the output limit. */
const LLAMA_LIMITS = {
  'qwen2.5-coder-1.5b': { contextWindow: 16_384, outputLimit: 1_024 },
  smollm2: { contextWindow: 8_192, outputLimit: 128 },
};

export const USAGE = `Usage: npm run eval -- --provider PROVIDER [options]

Runs the tasks of evals/tasks with the product in local mode, and judges the state afterwards.

Options (default):
  --provider NAME    scripted, llama (a model on this machine), ${PROVIDERS.join(', ')}
  --model NAME       the model; otherwise that of the environment variables (docs/models.md)
                     with the provider llama: ${LLAMA_MODELS.join(', ')} (${LLAMA_DEFAULT})
  --base-url URL     the server of the provider; keys are read from the environment only
  --repeat N         runs per task (1); pass^4 needs 4
  --task NAME        a task, a category or a selection such as small-model; can be repeated (all)
  --script NAME      with the provider scripted: ${SCRIPTS.join(', ')} (reference)
  --threads N        with the provider llama: threads of the model (1)
  --concurrency N    runs at the same time (1; scripted: 6)
  --deadline N       seconds per run (600; scripted: 120)
  --out FILE         the JSON result (evals/results/<time>.json)
  --list             print the tasks and end
  --help             this text

The exit code is 0 if all runs were judged, whether they passed or not, and 1 if the environment failed.`;

const OPTIONS = {
  provider: { type: 'string' },
  model: { type: 'string' },
  'base-url': { type: 'string' },
  repeat: { type: 'string' },
  task: { type: 'string', multiple: true },
  script: { type: 'string' },
  threads: { type: 'string' },
  concurrency: { type: 'string' },
  deadline: { type: 'string' },
  out: { type: 'string' },
  list: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('. ')[0]}. Try npm run eval -- --help.`, { cause: error });
  }
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  const number = Number(text ?? otherwise);
  if (!Number.isInteger(number) || number < 1) throw new UsageError(`--${name} must be a positive integer.`);
  return number;
}

type Environment = Record<string, string | undefined>;

/** Settings for local mode: only the provider's, so that another one in the environment is not used. */
function providerSettings(
  provider: ModelProvider,
  { model, baseUrl }: { model: string | undefined; baseUrl: string | undefined },
  environment: Environment,
): Record<string, string> {
  const { connection, options } = MODEL_PROVIDER_METADATA[provider];
  const names = [
    ...(connection === undefined ? [] : [connection.baseUrl, connection.apiKey, connection.model]),
    ...options,
    'USWARM_MODEL_CONTEXT_WINDOW',
    'USWARM_MODEL_OUTPUT_LIMIT',
    'USWARM_DEFAULT_MODEL',
  ];
  const given = names.flatMap((name) => (environment[name] ? [[name, environment[name]] as const] : []));
  const settings: Record<string, string> = Object.fromEntries(given);
  if (connection === undefined) return settings;
  if (model !== undefined) settings[connection.model] = model;
  if (baseUrl !== undefined) settings[connection.baseUrl] = baseUrl;
  if (settings[connection.model] === undefined) throw new UsageError(`--model or ${connection.model} is required.`);
  if (settings[connection.apiKey] === undefined && settings[connection.baseUrl] === undefined)
    throw new UsageError(`${connection.apiKey}, ${connection.baseUrl} or --base-url is required.`);
  return settings;
}

function llamaSettings(model: string, threads: string | undefined, environment: Environment): LlamaSettings {
  const known = LLAMA_MODELS.find((name) => name === model);
  if (known === undefined) throw new UsageError(`--model must be one of ${LLAMA_MODELS.join(', ')}.`);
  const { contextWindow, outputLimit } = LLAMA_LIMITS[known];
  return {
    model: known,
    threads: positive('threads', threads, 1),
    contextWindow: Number(environment['USWARM_MODEL_CONTEXT_WINDOW'] ?? contextWindow),
    outputLimit: Number(environment['USWARM_MODEL_OUTPUT_LIMIT'] ?? outputLimit),
  };
}

/** @returns `list` or `help` if that is asked for. @throws UsageError */
export function readSettings(args: readonly string[], environment: Environment): Settings | 'list' | 'help' {
  const values = readArguments(args);
  if (values.help === true) return 'help';
  if (values.list === true) return 'list';
  const names = ['scripted', 'llama', ...PROVIDERS];
  const { provider: name = '', script = 'reference' } = values;
  if (!names.includes(name)) throw new UsageError(`--provider must be one of ${names.join(', ')}.`);
  if (!SCRIPTS.some((one) => one === script)) throw new UsageError(`--script must be one of ${SCRIPTS.join(', ')}.`);
  const isScripted = name === 'scripted';
  if (!isScripted && values.script !== undefined) throw new UsageError('--script needs --provider scripted.');
  if (name !== 'llama' && values.threads !== undefined) throw new UsageError('--threads needs --provider llama.');
  return {
    ...modelOf(name, values, environment),
    script: script as ScriptName,
    repeat: positive('repeat', values.repeat, 1),
    only: values.task ?? [],
    concurrency: positive('concurrency', values.concurrency, isScripted ? 6 : 1),
    deadlineMs: positive('deadline', values.deadline, isScripted ? 120 : 600) * 1_000,
    out: values.out,
  };
}

function modelOf(
  name: string,
  values: ReturnType<typeof readArguments>,
  environment: Environment,
): Pick<Settings, 'provider' | 'providerName' | 'model'> {
  if (name === 'scripted') return { provider: name, providerName: name, model: values.model ?? name };
  if (name === 'llama') {
    const model = values.model ?? LLAMA_DEFAULT;
    return { provider: { llama: llamaSettings(model, values.threads, environment) }, providerName: name, model };
  }
  const providerName = name as ModelProvider;
  const { connection } = MODEL_PROVIDER_METADATA[providerName];
  const env = providerSettings(providerName, { model: values.model, baseUrl: values['base-url'] }, environment);
  return {
    provider: { env },
    providerName,
    model: values.model ?? (connection === undefined ? name : (environment[connection.model] ?? name)),
  };
}
