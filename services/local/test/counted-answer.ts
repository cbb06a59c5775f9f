import { type ModelServer, startModelServer, words } from '@uswarm/dev-servers';

/** The answer of `startCountingModel`. */
export const ANSWER = 'one two three four five six';

/** A model server that streams `ANSWER`. It stops in the middle at the hold `middle-<request index>` if `holds`. */
export const startCountingModel = (holds: () => boolean = () => true): Promise<ModelServer> =>
  startModelServer({
    script: (_request, index) => [
      ...words('one two three '),
      ...(holds() ? [{ hold: `middle-${index}` }] : []),
      ...words('four five six'),
      { usage: { prompt: 40, completion: 6 } },
    ],
  });
