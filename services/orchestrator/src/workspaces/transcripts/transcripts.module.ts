import { AUDIO_TOKENS_PER_SECOND } from '@uswarm/contract';
import type { Logger, Registry } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { ModelPrice } from '../../platform/core/models.js';
import type { UrgentJobDefinition } from '../../platform/jobs/job-definition.js';
import type { Connections } from '../../records/connections.js';
import type { ObjectStore } from '../../records/object-store.js';
import { createModelTokens } from '../../turns/model-calls/model-tokens.js';
import { createTranscriptionClient } from './transcription-client.js';
import { createTranscriptionJob, TRANSCRIPTION_JOB } from './transcription-job.js';
import { createTranscriptionMetrics } from './transcription-metrics.js';
import { createTranscripts } from './transcripts.js';

type TranscriptionSettings = Pick<
  OrchestratorConfig,
  | 'MODEL_GATEWAY_URL'
  | 'MODEL_TOKEN_SIGNING_KEY'
  | 'TRANSCRIPTION_MODEL'
  | 'TRANSCRIPTION_MAX_MINUTES'
  | 'TRANSCRIPTION_WORKERS'
>;

export interface TranscriptsModuleDeps {
  config: TranscriptionSettings;
  background: Pick<Connections, 'database' | 'withTransaction' | 'jobs' | 'events'>;
  objects: ObjectStore;
  metrics: Registry;
  logger: Logger;
}

/** A workspace with many recordings leaves workers to others. */
const PER_WORKSPACE = 2;
const TOKENS_PER_MINUTE = 60 * AUDIO_TOKENS_PER_SECOND;
const MILLION = 1_000_000;

/** A price per minute becomes one per token, because each second counts as a number of tokens. */
export function transcriptionPrice({
  TRANSCRIPTION_PRICE_PER_MINUTE: perMinute,
  TRANSCRIPTION_PRICE_INPUT: perInput,
  TRANSCRIPTION_PRICE_OUTPUT: output,
}: Pick<
  OrchestratorConfig,
  'TRANSCRIPTION_PRICE_PER_MINUTE' | 'TRANSCRIPTION_PRICE_INPUT' | 'TRANSCRIPTION_PRICE_OUTPUT'
>): ModelPrice {
  const input = perInput + Math.round((perMinute * MILLION) / TOKENS_PER_MINUTE);
  if (input + output === 0) return { modelId: null, prices: null };
  return { modelId: null, prices: { input, cached_input: input, output } };
}

/** Close the module when no job runs. */
export function createTranscriptsModule({ config, background, objects, metrics, logger }: TranscriptsModuleDeps) {
  const { MODEL_GATEWAY_URL: url, MODEL_TOKEN_SIGNING_KEY: key, TRANSCRIPTION_MODEL: model } = config;
  const maxMinutes = config.TRANSCRIPTION_MAX_MINUTES;
  const isConfigured = url !== undefined && key !== undefined && model !== undefined;
  const client = isConfigured ? createTranscriptionClient(url) : undefined;
  const counted = createTranscriptionMetrics(metrics);
  const jobs: UrgentJobDefinition[] =
    client === undefined
      ? []
      : [
          {
            type: TRANSCRIPTION_JOB,
            concurrency: config.TRANSCRIPTION_WORKERS,
            perFairKey: PER_WORKSPACE,
            handle: createTranscriptionJob({
              ...background,
              objects,
              client,
              modelTokens: createModelTokens(key),
              maxSeconds: 60 * maxMinutes,
              metrics: counted,
              logger,
            }),
          },
        ];
  return {
    transcripts: createTranscripts({ ...background, isConfigured, maxMinutes }),
    urgentJobs: jobs,
    close: async () => client?.close(),
  };
}
