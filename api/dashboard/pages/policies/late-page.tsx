import { Frame } from '../../layout/frame.tsx';
import { Notice } from '../../layout/notice.tsx';
import { Editor, type EditorProps } from './editor.tsx';
import { PolicyCards } from './policy-cards.tsx';

/** What somebody sees whose policies were made from others than hold now: both, and what to do. */
export function LatePage(props: EditorProps) {
  const { context, current } = props;
  return (
    <Frame context={context} title="Policies" room="policies">
      <div class="stack">
        <Notice tone="bad">
          <strong>Somebody else has changed the policies meanwhile. Nothing of yours was saved.</strong>
          <p>
            First come the policies that hold now, and then yours as you entered them. Take over from the
            first what should stay, and preview yours again; once confirmed they replace what holds. To drop
            yours, <a href={`${context.base}/policies`}>open the page again</a>.
          </p>
        </Notice>
        <h2>What holds now</h2>
        <PolicyCards policies={current} />
        <h2>Yours</h2>
        <Editor {...props} />
      </div>
    </Frame>
  );
}
