import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { Histogram } from 'prom-client';
import type { TranscriptionProblem } from './transcriptions.store.js';

const OUTCOMES = [
  'transcribed',
  'silent',
  'retried',
  'too_large',
  'too_long',
  'refused',
  'limit',
  'unavailable',
] as const satisfies ('transcribed' | 'silent' | 'retried' | TranscriptionProblem)[];

export interface TranscriptionMetrics {
  ended(outcome: (typeof OUTCOMES)[number], seconds: number): void;
}

const SECONDS = [0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];

export function createTranscriptionMetrics(registry: Registry): TranscriptionMetrics {
  const attempts = initializedCounter(
    registry,
    'uswarm_transcriptions_total',
    'Total attempts to transcribe a recording by outcome.',
    { outcome: OUTCOMES },
  );
  const duration = new Histogram({
    name: 'uswarm_transcription_duration_seconds',
    help: 'Seconds that an attempt to transcribe a recording took.',
    buckets: SECONDS,
    registers: [registry],
  });
  return {
    ended(outcome, seconds) {
      attempts.inc({ outcome });
      duration.observe(seconds);
    },
  };
}
