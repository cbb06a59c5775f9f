import { parseJson } from '@uswarm/service-kit';
import { createMessageRepair } from './repair/completion-message.js';
import { finishKind, isFinishReason } from './repair/finish-reasons.js';
import { isObject, type Json, objects } from './repair/json.js';
import { createTextHold, type TextDelta } from './text-hold.js';
import { type EventRepair, eventResponse, type PassOptions, repairBody, repairCounts } from './wire-body.js';

// Deviations in chat completions that the client library does not accept.

/** A choice's finish reason. Gateways can report a provider's failure as the usual end. */
function reasonOf({ finish_reason: sent, native_finish_reason: native }: Json): string | null {
  // SGLang describes its reason by an object, and some gateways pass on an enumeration number.
  const given = isObject(sent) ? sent['type'] : sent;
  const reason = typeof given === 'number' ? String(given) : given;
  if (!isFinishReason(reason)) return null;
  const kind = isFinishReason(native) ? finishKind(native) : undefined;
  return finishKind(reason) === 'complete' && (kind === 'failed' || kind === 'refused' || kind === 'cut')
    ? String(native)
    : reason;
}

interface ChunkRepair {
  /** @returns chunks with at most one choice; the client library reads no other */
  repair(chunk: Json): Json[];
  /** @param complete whether the server declared the response complete. @returns what was held until the end */
  end(complete: boolean): Json[];
  /** True if the last chunk with a choice had a finish reason. Some servers send empty ones before. */
  isFinished(): boolean;
}

function createChunkRepair(offered: ReadonlySet<string>): ChunkRepair {
  const messages = createMessageRepair(offered);
  let finished = false;
  let lastReason: string | null = null;

  function repairChoice(
    { message: _message, delta: _delta, text: _text, ...fields }: Json,
    delta: Json | undefined,
  ): Json {
    lastReason = reasonOf(fields);
    finished ||= lastReason !== null;
    const reason = fields['finish_reason'] === undefined ? {} : { finish_reason: lastReason };
    return { ...fields, ...reason, ...(delta === undefined ? {} : { delta }) };
  }

  return {
    repair(chunk) {
      const { usage, choices: sent, id, model, created, error, ...others } = chunk;
      if (isObject(error) ? Object.keys(error).length > 0 : Boolean(error)) return [chunk];
      if (chunk['object'] === 'error') return [{ error: chunk }];
      const rest = {
        ...others,
        ...(typeof id === 'string' || typeof id === 'number' ? { id: String(id) } : {}),
        ...(typeof model === 'string' ? { model } : {}),
        ...(Number.isFinite(Number(created)) && created !== null ? { created: Number(created) } : {}),
      };
      const choices = objects(isObject(sent) ? Object.values(sent) : sent).map((choice) =>
        repairChoice(choice, messages.delta(choice)),
      );
      const counts = isObject(usage) ? { usage: repairCounts(usage) } : {};
      const last = { ...rest, choices: choices.slice(-1), ...counts };
      return [...choices.slice(0, -1).map((choice) => ({ ...rest, choices: [choice] })), last];
    },
    end(complete) {
      const calls = messages.end();
      // The server declares the response complete, so a missing finish reason is not a lost connection.
      const reason = complete && !finished ? { finish_reason: 'stop' } : {};
      const isEmpty = calls.length === 0 && !('finish_reason' in reason);
      return isEmpty ? [] : [{ choices: [{ index: 0, delta: { tool_calls: calls }, ...reason }] }];
    },
    isFinished: () => lastReason !== null,
  };
}

/** The only field with a value; undefined if there are others. */
function onlyField(part: Json): string | undefined {
  const names = Object.keys(part).filter((name) => part[name] !== null && part[name] !== undefined);
  return names.length === 1 ? names[0] : undefined;
}

/** A chunk with one choice that only adds text or reasoning. */
function textDeltaOf(chunk: Json): TextDelta | undefined {
  const { choices, usage, error } = chunk;
  if (!Array.isArray(choices) || choices.length !== 1 || usage !== undefined || error !== undefined) return undefined;
  const { index, delta, ...others } = choices[0] as Json;
  if (!isObject(delta) || Object.values(others).some((value) => value !== null && value !== undefined))
    return undefined;
  const field = onlyField(delta);
  if (field !== 'content' && field !== 'reasoning_content') return undefined;
  const text = delta[field];
  if (typeof text !== 'string' || text === '') return undefined;
  return {
    kind: `${field}:${String(index)}`,
    text,
    withText: (joined) => ({ ...chunk, choices: [{ ...others, index, delta: { ...delta, [field]: joined } }] }),
  };
}

const DONE = '[DONE]';
const toTexts = (chunks: readonly Json[]): string[] => chunks.map((chunk) => JSON.stringify(chunk));

function repairEvents(offered: ReadonlySet<string>): EventRepair {
  const chunks = createChunkRepair(offered);
  const hold = createTextHold(textDeltaOf);
  const release = (): string[] => toTexts(hold.release());
  const rest = (isDone: boolean): string[] => [...release(), ...toTexts(chunks.end(isDone))];
  return {
    repair(data) {
      if (data === DONE) return [...rest(true), DONE];
      const chunk = parseJson(data);
      if (isObject(chunk)) return toTexts(chunks.repair(chunk).flatMap((one) => hold.add(one)));
      // After the response, a partial event is as good as none. Nothing else than an object can be cut.
      return chunks.isFinished() || !data.startsWith('{') ? [] : [...release(), data];
    },
    get isHolding() {
      return hold.isHolding;
    },
    release,
    end: () => rest(false),
    isComplete: chunks.isFinished,
  };
}

/** A complete response as a stream, from servers that ignore `stream`. */
function asStream(body: Json, offered: ReadonlySet<string>): Response {
  const chunks = createChunkRepair(offered);
  return eventResponse([...[...chunks.repair(body), ...chunks.end(true)].map((chunk) => JSON.stringify(chunk)), DONE]);
}

/**
 * Repairs a successful chat completions response.
 *
 * @param offered the request's tool names
 */
export const repairCompletion = (
  response: Response,
  offered: ReadonlySet<string>,
  options: PassOptions,
): Promise<Response> =>
  repairBody(
    response,
    {
      events: () => repairEvents(offered),
      document: (body) => (objects(body['choices']).length > 0 ? asStream(body, offered) : undefined),
    },
    options,
  );
