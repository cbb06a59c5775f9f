import { AUDIO_TOKENS_PER_SECOND, type ModelCallUsage } from '@uswarm/contract';
import { estimateTokens, parseJson } from '@uswarm/service-kit';
import { countOf, objectOf } from '../protocols/json.js';

/** A provider's answer to a recording. */
export interface Answer {
  /** Undefined if it is not a transcription. */
  text: string | undefined;
  usage: ModelCallUsage;
}

/** Fast speech. Without a reported length, a file that states a shorter one than it has is not free. */
const CHARACTERS_PER_SECOND = 25;

const secondsOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

export const audioTokens = (seconds: number): number => Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND);

const counted = (prompt: number, completion: number, estimated: boolean): ModelCallUsage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  cached_tokens: 0,
  reasoning_tokens: 0,
  estimated,
  outcome: 'completed',
});

/** @param statedSeconds the recording's length as the file states it */
export const estimatedUsage = (statedSeconds: number, text: string): ModelCallUsage =>
  counted(audioTokens(Math.max(statedSeconds, text.length / CHARACTERS_PER_SECOND)), estimateTokens(text), true);

/**
 * Reads OpenAI's answer, and what other servers leave out or add. OpenAI reports seconds or tokens, by the model;
 * Mistral both, of which the seconds are charged; Groq, vLLM and most local servers neither.
 */
export function readAnswer(body: string, statedSeconds: number): Answer | undefined {
  const parsed = parseJson(body);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
  const { text, usage, duration } = objectOf(parsed);
  const reported = objectOf(usage);
  const said = typeof text === 'string' ? text : undefined;
  const seconds = [reported['seconds'], reported['prompt_audio_seconds'], duration].map(secondsOf).find(Boolean);
  const input = countOf(reported['input_tokens'] ?? reported['prompt_tokens']);
  const output = countOf(reported['output_tokens'] ?? reported['completion_tokens']);
  if (seconds !== undefined) {
    return { text: said, usage: counted(audioTokens(seconds), output ?? estimateTokens(said ?? ''), false) };
  }
  if (input !== undefined && output !== undefined) return { text: said, usage: counted(input, output, false) };
  return { text: said, usage: estimatedUsage(statedSeconds, said ?? '') };
}
