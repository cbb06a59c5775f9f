import { Button } from './button.js';
import { EmptyState } from './parts.js';

/** Takes the place of a part of the page that failed. */
export const NotLoaded = () => (
  <div role="alert">
    <EmptyState as="h1" icon="alert" title="This part of the page could not be loaded">
      <p>The connection broke, or the page was updated meanwhile.</p>
      <Button onClick={() => location.reload()}>Load the page again</Button>
    </EmptyState>
  </div>
);
