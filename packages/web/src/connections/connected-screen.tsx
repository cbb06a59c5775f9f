import { Screen } from '../screen/screen.js';
import { ButtonLink } from '../ui/button.js';
import { useReturn } from './use-return.js';
import { Problem } from '../ui/parts.js';

/** Providers return to this screen. */
export function ConnectedScreen() {
  const problem = useReturn();
  return (
    <Screen title={problem === undefined ? 'Connecting…' : 'It is not connected'}>
      {problem !== undefined && (
        <>
          <Problem>{problem}</Problem>
          <div>
            <ButtonLink href="/">Back</ButtonLink>
          </div>
        </>
      )}
    </Screen>
  );
}
