import { parseJson } from '@uswarm/service-kit';
import type { ModelCallUsage } from '@uswarm/contract';
import type { Metered, Protocol } from './protocols/protocol.js';
import { tokensOfBytes } from './token-estimate.js';

/** A longer line of a stream is not metered. */
const MAX_LINE = 1024 * 1024;
/** A longer response that is not a stream is not metered. */
const MAX_WHOLE_BYTES = 16 * 1024 * 1024;

export interface ResponseMeter {
  /** Reads a part of the response; never throws. */
  push(chunk: Uint8Array): void;
  /** The usage so far: as reported if the response is complete, else estimated. */
  usage(promptEstimate: number): Omit<ModelCallUsage, 'outcome'>;
}

/** Reads the usage from a response while it passes: a stream of server-sent events, or one JSON object. */
export function createResponseMeter(protocol: Protocol, { streamed }: { streamed: boolean }): ResponseMeter {
  const metered: Metered = { usage: {}, complete: false, outputBytes: 0 };
  const read = streamed ? eventReader(protocol, metered) : wholeReader(protocol, metered);
  return {
    push: read.push,
    usage(promptEstimate) {
      read.end();
      const { usage, complete, outputBytes } = metered;
      const { promptTokens = promptEstimate, completionTokens = 0, cachedTokens = 0, reasoningTokens = 0 } = usage;
      return {
        prompt_tokens: promptTokens,
        completion_tokens: complete ? completionTokens : Math.max(completionTokens, tokensOfBytes(outputBytes)),
        cached_tokens: cachedTokens,
        reasoning_tokens: reasoningTokens,
        estimated: !complete,
      };
    },
  };
}

interface Reader {
  push(chunk: Uint8Array): void;
  end(): void;
}

function eventReader(protocol: Protocol, metered: Metered): Reader {
  const decoder = new TextDecoder();
  let rest = '';
  const readLine = (line: string): void => {
    const data = /^data: ?(\{.*)$/.exec(line.trimEnd())?.[1];
    if (data !== undefined) protocol.meter(metered, parseJson(data));
  };
  return {
    push(chunk) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE) rest = '';
      for (const line of lines) readLine(line);
    },
    end() {
      readLine(rest);
      rest = '';
    },
  };
}

function wholeReader(protocol: Protocol, metered: Metered): Reader {
  let chunks: Uint8Array[] = [];
  let size = 0;
  return {
    push(chunk) {
      size += chunk.byteLength;
      if (size <= MAX_WHOLE_BYTES) chunks.push(chunk);
    },
    end() {
      if (size === 0) return;
      const response = size <= MAX_WHOLE_BYTES ? parseJson(Buffer.concat(chunks).toString('utf8')) : undefined;
      chunks = [];
      // The text of a response that is cut or too long counts by its bytes.
      if (response === undefined) metered.outputBytes = size;
      else protocol.meter(metered, response);
      size = 0;
    },
  };
}
