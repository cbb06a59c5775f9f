import { estimateTokens, parseJson, TOKENS_IN_FLIGHT } from '@uswarm/service-kit';
import type { ModelCallUsage } from '@uswarm/contract';
import type { Metered, Protocol } from './protocols/protocol.js';

/** A longer stream line counts as output with all its characters. */
const MAX_LINE = 1024 * 1024;
/** A longer response that is not a stream counts as output with all its bytes. */
const MAX_WHOLE_BYTES = 16 * 1024 * 1024;

export interface ResponseMeter {
  /** Reads a response part; never throws. */
  push(chunk: Uint8Array): void;
  /**
   * The usage so far: as reported if the response is complete, else estimated.
   *
   * @param call `isCut`: the provider may have generated more; `estimatePrompt`: called if the provider did not report it
   */
  usage(call: { isCut: boolean; estimatePrompt: () => number }): Omit<ModelCallUsage, 'outcome'>;
}

/** Blank characters and the byte order mark. */
const BLANK = new Set([...'\t\n\r '].map((character) => character.charCodeAt(0)).concat(0xef, 0xbb, 0xbf));
/** JSON or HTML. Event lines begin otherwise. */
const DOCUMENT_START = new Set([...'{["<'].map((character) => character.charCodeAt(0)));

/**
 * Reads the usage from a response while it passes: a stream of server-sent events, or one JSON object. Its start shows which,
 * because content types are often wrong or missing.
 */
export function createResponseMeter(protocol: Protocol): ResponseMeter {
  const metered: Metered = { usage: {}, complete: false, ended: false, outputTokens: 0 };
  let read: Reader | undefined;

  function readerFor(chunk: Uint8Array): Reader | undefined {
    const start = chunk.find((byte) => !BLANK.has(byte));
    if (start === undefined) return undefined;
    return DOCUMENT_START.has(start) ? wholeReader(protocol, metered) : eventReader(protocol, metered);
  }

  return {
    push(chunk) {
      read ??= readerFor(chunk);
      read?.push(chunk);
    },
    usage({ isCut, estimatePrompt }) {
      read?.end();
      const { usage, complete, ended, outputTokens } = metered;
      const { promptTokens = estimatePrompt(), completionTokens = 0, cachedTokens = 0, reasoningTokens = 0 } = usage;
      const estimate = outputTokens + (isCut || !ended ? TOKENS_IN_FLIGHT : 0);
      return {
        prompt_tokens: promptTokens,
        completion_tokens: complete ? completionTokens : Math.max(completionTokens, estimate),
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
  /** True if `rest` continues a line that is too long. */
  let isLong = false;

  function readLine(line: string): void {
    if (isLong) {
      metered.outputTokens += estimateTokens(line);
      return;
    }
    const data = /^data: ?(\{.*)$/.exec(line.trimEnd())?.[1];
    if (data !== undefined) protocol.meter(metered, parseJson(data));
  }

  return {
    push(chunk) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        readLine(line);
        isLong = false;
      }
      isLong ||= rest.length > MAX_LINE;
      if (!isLong) return;
      readLine(rest);
      rest = '';
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
      const text = Buffer.concat(chunks).toString('utf8');
      chunks = [];
      const response = size <= MAX_WHOLE_BYTES ? parseJson(text) : undefined;
      if (response !== undefined) protocol.meter(metered, response);
      else metered.outputTokens = size <= MAX_WHOLE_BYTES ? estimateTokens(text) : size;
      size = 0;
    },
  };
}
