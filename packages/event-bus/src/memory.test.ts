import { describe } from '@jest/globals';
import { describeBus } from '../test/bus-contract.js';
import { createMemoryBus } from './memory.js';

describe('createMemoryBus', () => {
  describeBus((options) => {
    const bus = createMemoryBus(options);
    return { publisher: bus, subscriber: bus };
  });
});
