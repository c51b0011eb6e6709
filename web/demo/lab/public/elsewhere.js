// Runs before anything is drawn: the first room's picture is not for other addresses, and the bar is not for figures. It
// is a file of its own, because the policy of the page allows no script inside it.

const { dataset } = document.documentElement;
if (!["", "#/", "#/lesson"].includes(location.hash)) dataset.elsewhere = "";
if (new URLSearchParams(location.search).has("embed")) dataset.figure = "";
