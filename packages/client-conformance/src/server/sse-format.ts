/** How server-sent events are written; all ways are allowed by the standard. */
export interface SseFormat {
  lineEnd: '\n' | '\r\n';
  bom: boolean;
  /** The data of each event in several lines. */
  multiLine: boolean;
  /** Comment lines before and within each event. */
  comments: boolean;
  /** Sends each event byte in a separate packet. */
  byteByByte: boolean;
  /** The `retry` field, in milliseconds. */
  retryMs: number;
  /** The next cut leaves the first half of an event with this name. */
  cutWithin: string | undefined;
}

/** As the service writes them. */
export const usualFormat = (): SseFormat => ({
  lineEnd: '\n',
  bom: false,
  multiLine: false,
  comments: false,
  byteByByte: false,
  retryMs: 200,
  cutWithin: undefined,
});
