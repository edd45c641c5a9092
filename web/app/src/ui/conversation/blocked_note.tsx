import type { UserId } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";

/** Replaces the composer for a blocked user, because the server would refuse messages. */
export function BlockedNote({ userId }: { userId: UserId }) {
  const { blocks } = useSession();
  return (
    <footer class="composer composer-closed">
      {t("composer.blocked")}{" "}
      <button type="button" class="link-button" onClick={() => void attempt(blocks.set(userId, false))}>
        {t("info.unblock")}
      </button>
    </footer>
  );
}
